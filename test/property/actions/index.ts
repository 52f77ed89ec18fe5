import fc from 'fast-check';
import { type Command, commandsOf } from '../action.js';
import { beat } from './beat.js';
import { claim } from './claim.js';
import { clear } from './clear.js';
import { dissolve } from './dissolve.js';
import { enqueue } from './enqueue.js';
import { handOver } from './hand-over.js';
import { cancel, remove, requeue } from './operate.js';
import { pause, resume } from './pause.js';
import { settle } from './settle.js';
import { crash, elapse, loseOften, promote } from './time.js';
import { close, lock, openClaim } from './transaction.js';

/** All that may happen to the queue. A new action is a file here and an entry. */
export const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  commandsOf(enqueue),
  commandsOf(handOver),
  commandsOf(claim),
  commandsOf(settle),
  commandsOf(beat),
  commandsOf(crash),
  commandsOf(dissolve),
  commandsOf(elapse),
  commandsOf(promote),
  commandsOf(loseOften),
  commandsOf(cancel),
  commandsOf(requeue),
  commandsOf(remove),
  commandsOf(clear),
  commandsOf(pause),
  commandsOf(resume),
  commandsOf(lock),
  commandsOf(openClaim),
  commandsOf(close),
);
