const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const INTERRUPTED = 130;

/**
 * Lets Ctrl-C end a process that is still starting. By default it would end without an `exit` event, which is where what
 * has been started by then cleans up after itself. The function returned leaves the signals to Nest.
 */
export function exitOnSignals(): () => void {
  const exit = (): never => process.exit(INTERRUPTED);
  for (const signal of SIGNALS) process.on(signal, exit);
  return () => {
    for (const signal of SIGNALS) process.off(signal, exit);
  };
}
