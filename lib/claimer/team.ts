import { Course } from './course.js';
import { Occupancy } from './occupancy.js';

/** The workers of one process that serve the same queue. */
export class Team {
  /** How many they are. */
  size = 0;
  private readonly courses = new Map<string, Course>();

  constructor(readonly occupancy = new Occupancy()) {}

  /** What those with the same entrypoints share. */
  courseOf(entrypoints: Iterable<string>): Course {
    const key = JSON.stringify([...entrypoints].sort());
    const course = this.courses.get(key) ?? new Course();
    this.courses.set(key, course);
    return course;
  }
}
