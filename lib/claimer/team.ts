import { Turns } from '../waiting/turns.js';
import { Frontier } from './frontier.js';
import { Pace } from './pace.js';

/** How far the claims of workers with the same entrypoints have come, and how they look beside rivals. */
export interface Course {
  readonly frontier: Frontier;
  readonly pace: Pace;
}

/** The workers of one process that serve the same queue. They have one processor, so what they ask for at the same time takes longer. */
export class Team {
  readonly claims = new Turns();
  readonly settles = new Turns();
  /** How many they are. */
  size = 0;
  private readonly courses = new Map<string, Course>();

  courseOf(entrypoints: Iterable<string>): Course {
    const key = JSON.stringify([...entrypoints].sort());
    const course = this.courses.get(key) ?? { frontier: new Frontier(), pace: new Pace() };
    this.courses.set(key, course);
    return course;
  }
}
