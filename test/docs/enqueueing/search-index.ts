import { Injectable } from '@nestjs/common';
import { Entrypoint, type Job, PgQueueProducer } from 'nestjs-pgqueue';

@Injectable()
export class SearchIndex {
  readonly indexed: number[] = [];

  constructor(private readonly queue: PgQueueProducer) {}

  /** However often a product is saved within ten seconds, it is indexed once. */
  async productSaved(productId: number) {
    const { id, duplicate } = await this.queue.enqueue(
      'index_product',
      { productId },
      { dedupeKey: `product ${productId}`, delay: 10_000 },
    );
    return { id, duplicate };
  }

  @Entrypoint('index_product')
  index({ payload }: Job<{ productId: number }>) {
    this.indexed.push(payload.productId);
  }
}
