import { Injectable, Logger } from '@nestjs/common';
import { Entrypoint } from 'nestjs-pgqueue';
import { ShutdownWarner } from '../../lib/nest/shutdown-warner.js';
import { useGround } from './support/index.js';

const setEnvironment = (name: string | undefined) => {
  if (name === undefined) delete process.env['NODE_ENV'];
  else process.env['NODE_ENV'] = name;
};

describe('the warning that enableShutdownHooks was forgotten', () => {
  const given = process.env['NODE_ENV'];
  const warner = new ShutdownWarner();
  let warn: jest.SpyInstance;
  beforeEach(() => {
    setEnvironment('production');
    jest.useFakeTimers();
    warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  });
  afterEach(() => {
    warner.stop();
    jest.useRealTimers();
    jest.restoreAllMocks();
    setEnvironment(given);
  });

  it('comes once, a few seconds after the start, and says what to do', () => {
    warner.start();
    jest.advanceTimersByTime(4_000);
    expect(warn).not.toHaveBeenCalled();
    jest.advanceTimersByTime(3_600_000);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Call app.enableShutdownHooks()')]]);
  });

  it.each([undefined, 'development', 'staging'])('comes with NODE_ENV %p', (name) => {
    setEnvironment(name);
    warner.start();
    jest.advanceTimersByTime(60_000);
    expect(warn).toHaveBeenCalledTimes(1);
  });

  it('does not come when something listens for SIGTERM by then', () => {
    const listener = () => undefined;
    warner.start();
    process.on('SIGTERM', listener);
    jest.advanceTimersByTime(60_000);
    process.off('SIGTERM', listener);
    expect(warn).not.toHaveBeenCalled();
  });

  it('does not come in tests, nor after the application has closed', () => {
    setEnvironment('test');
    warner.start();
    setEnvironment('production');
    warner.start();
    warner.stop();
    jest.advanceTimersByTime(60_000);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('that enableShutdownHooks was forgotten is looked for', () => {
  const ground = useGround();
  let look: jest.SpyInstance;
  beforeEach(() => void (look = jest.spyOn(ShutdownWarner.prototype, 'start')));
  afterEach(() => jest.restoreAllMocks());

  @Injectable()
  class Handlers {
    @Entrypoint('work')
    work() {}
  }

  it('once, where the application has started a worker', async () => {
    await ground.start({ providers: [Handlers] });
    expect(look).toHaveBeenCalledTimes(1);
  });

  it('not where it has started none', async () => {
    await ground.start();
    for (const worker of [false, { autoStart: false }]) await ground.start({ providers: [Handlers] }, { worker });
    expect(look).not.toHaveBeenCalled();
  });
});
