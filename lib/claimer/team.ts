import { Turns } from '../waiting/turns.js';
import { Course } from './course.js';

/** The workers of one process that serve the same queue. They have one processor, so what they ask for at the same time takes longer. */
export class Team {
  readonly claims = new Turns();
  readonly settles = new Turns();
  /** How many they are. */
  size = 0;
  private readonly courses = new Map<string, Course>();

  courseOf(entrypoints: Iterable<string>): Course {
    const key = JSON.stringify([...entrypoints].sort());
    const course = this.courses.get(key) ?? new Course();
    this.courses.set(key, course);
    return course;
  }
}
