import type { GatewayProblem } from './gateway-types.ts';

/** A start or a reload that cannot be: the configuration or the machine has something wrong. */
export class GatewayError extends Error {
  readonly problems: readonly GatewayProblem[];

  constructor(problems: readonly GatewayProblem[]) {
    super(problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n'));
    this.name = 'GatewayError';
    this.problems = problems;
  }
}
