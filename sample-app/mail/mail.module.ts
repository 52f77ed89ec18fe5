import { Module, type DynamicModule } from '@nestjs/common';
import type { ShopSettings } from '../shop.settings.js';
import { Mailer } from './mailer.js';
import { OutboxMailer } from './outbox.mailer.js';
import { SmtpMailer } from './smtp.mailer.js';

@Module({})
export class MailModule {
  static register({ smtpUrl, outboxDir }: ShopSettings): DynamicModule {
    const useFactory = (): Mailer => (smtpUrl ? new SmtpMailer(smtpUrl) : new OutboxMailer(outboxDir));
    return { module: MailModule, global: true, providers: [{ provide: Mailer, useFactory }], exports: [Mailer] };
  }
}
