import type { FormatErrorFacts } from './types.ts';

/** A body that its own format refuses, or that another format cannot say without changing its meaning. */
export class FormatError extends Error implements FormatErrorFacts {
  readonly param: string | null;
  readonly status: number;

  constructor(message: string, facts: FormatErrorFacts) {
    super(message);
    this.name = 'FormatError';
    this.param = facts.param;
    this.status = facts.status;
  }
}
