/** What becomes of a job whose key is taken. */
export type ConflictPolicy = 'skip' | 'raise' | 'replace';
