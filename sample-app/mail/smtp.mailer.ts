import type { OnApplicationShutdown } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { envelope, Mailer, type Mail } from './mailer.js';

export class SmtpMailer extends Mailer implements OnApplicationShutdown {
  private readonly transport;

  constructor(url: string) {
    super();
    this.transport = createTransport({ url, pool: true });
  }

  async send(mail: Mail): Promise<void> {
    await this.transport.sendMail(envelope(mail));
  }

  onApplicationShutdown(): void {
    this.transport.close();
  }
}
