import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OnModuleInit } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { envelope, Mailer, type Mail } from './mailer.js';

/** Writes each mail to a file of its own, which mail programs can open. */
export class OutboxMailer extends Mailer implements OnModuleInit {
  private readonly composer = createTransport({ streamTransport: true, buffer: true });

  constructor(private readonly folder: string) {
    super();
  }

  async onModuleInit(): Promise<void> {
    await mkdir(this.folder, { recursive: true });
  }

  async send(mail: Mail): Promise<void> {
    const { message } = await this.composer.sendMail(envelope(mail));
    const file = join(this.folder, `${mail.name}-${randomUUID()}`);
    // Renamed when complete, so that whoever looks into the folder never sees half a mail.
    await writeFile(`${file}.part`, message);
    await rename(`${file}.part`, `${file}.eml`);
  }
}
