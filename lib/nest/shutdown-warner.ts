import { Logger } from '@nestjs/common';

// Applications enable their hooks before they listen, or right after createApplicationContext().
const PATIENCE = 5_000;

/** Warns once of an application, unless under test, that will not hear of its end. */
export class ShutdownWarner {
  private timer: NodeJS.Timeout | undefined;

  start(): void {
    if (process.env['NODE_ENV'] === 'test') return; // as Jest and Vitest set it
    this.timer = setTimeout(() => this.check(), PATIENCE).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private check(): void {
    if (process.listenerCount('SIGTERM') > 0) return;
    new Logger('PgQueue').warn(
      'Nothing listens for SIGTERM, so a deploy will cut off running jobs, which are run again only when their heartbeat is ' +
        'stale. Call app.enableShutdownHooks() before app.listen()',
    );
  }
}
