import { Inject } from '@nestjs/common';
import { PgQueueProducer } from '../client/producer.js';
import { getPgQueueToken, type PublicToken } from '../tokens.js';

/** Injects the producer of a named queue. */
export function InjectPgQueue(
  name?: string,
  cls: PublicToken<unknown> = PgQueueProducer,
): ParameterDecorator & PropertyDecorator {
  return Inject(getPgQueueToken(cls, name));
}
