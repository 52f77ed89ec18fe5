import type { LoggerService } from '@nestjs/common';

const nothing = () => undefined;

/** For tests in which things go wrong on purpose. */
export const silentLogger: LoggerService = {
  log: nothing,
  error: nothing,
  warn: nothing,
  debug: nothing,
  verbose: nothing,
  fatal: nothing,
};
