import fc from 'fast-check';
import { violationsOf } from './invariants.js';
import type { Model } from './model.js';
import type { Real } from './real.js';
import { readState } from './state.js';

/** Something that may happen to the queue: how it is chosen, done, and what has to come of it. */
export interface Action<Choice, Call, Answer> {
  readonly name: string;
  /** How often it is chosen among the others. */
  readonly weight: number;
  /** Numbers and words that mean something only to a model, as a sequence is drawn before it begins. */
  readonly choices: fc.Arbitrary<Choice>;
  /** What is asked of the database; `undefined`: nothing now, as there is nothing to do it to, or it would wait for a lock. */
  plan(model: Model, choice: Choice): Call | undefined;
  perform(real: Real, call: Call): Promise<Answer>;
  /** Changes the model, and returns what the database should have answered. `answer` is for what only it can know: new ids. */
  apply(model: Model, call: Call, answer: Answer): Answer;
  /** What is worth counting of it, besides that it happened. */
  kinds?(call: Call, answer: Answer): readonly (string | undefined)[];
}

/** Does it to both, and compares what the database answers and what its tables say. */
export async function act<Choice, Call, Answer>(
  action: Action<Choice, Call, Answer>,
  call: Call,
  model: Model,
  real: Real,
): Promise<Answer> {
  const answer = await action.perform(real, call);
  expect(answer).toEqual(action.apply(model, call, answer));
  const state = await readState(real.db);
  expect(violationsOf(state, model.ids)).toEqual([]);
  expect(state).toEqual(model.state());
  for (const kind of ['', ...(action.kinds?.(call, answer) ?? [])]) {
    const what = `${action.name} ${kind}`.trim();
    model.seen.set(what, (model.seen.get(what) ?? 0) + 1);
  }
  return answer;
}

export type Command = fc.AsyncCommand<Model, Real>;

/** What an arbitrary chooses. */
export type Chosen<A> = A extends fc.Arbitrary<infer Choice> ? Choice : never;

export const commandsOf = <Choice, Call, Answer>(action: Action<Choice, Call, Answer>) => ({
  weight: action.weight,
  arbitrary: action.choices.map((choice) => commandOf(action, choice)),
});

// A sequence is tried again with some of its commands while it is being shrunk: each time with new ones, or a counterexample
// would show what they did in a later try.
function commandOf<Choice, Call, Answer>(action: Action<Choice, Call, Answer>, choice: Choice): Command {
  let done: Call | undefined;
  const command: Command & fc.WithCloneMethod<Command> = {
    check: (model) => action.plan(model, choice) !== undefined,
    run: async (model, real) => {
      done = action.plan(model, choice)!;
      await act(action, done, model, real);
    },
    toString: () => `${action.name} ${JSON.stringify(done)}`,
    [fc.cloneMethod]: () => commandOf(action, choice),
  };
  return command;
}

/** Chooses one of a list of any length, often one of the last, which 0 stands for. */
export const anyOne = fc.oneof({ weight: 2, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(31) });
export const anyFew = fc.array(anyOne, { minLength: 1, maxLength: 4, size: 'max' });
export const chosen = <T>(all: readonly T[], choice: number): T | undefined => all.at(-1 - (choice % all.length));
export const chosenFew = <T>(all: readonly T[], choices: readonly number[]): T[] =>
  all.length === 0 ? [] : [...new Set(choices.map((choice) => chosen(all, choice)!))];

export const ENTRYPOINTS = ['work', 'other'] as const;
export const anyEntrypoint = fc.constantFrom(...ENTRYPOINTS);
export const HOUR = 3_600_000;
