export interface Mail {
  /** The same whenever this mail is sent, so that its recipient can tell a second copy from a second mail. */
  readonly name: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Sends a mail; resolves once it has been handed over. */
export abstract class Mailer {
  abstract send(mail: Mail): Promise<void>;
}

/** What nodemailer makes a message of. */
export function envelope({ name, ...mail }: Mail) {
  return { ...mail, from: 'The shop <shop@example.org>', messageId: `<${name}@shop.example.org>` };
}
