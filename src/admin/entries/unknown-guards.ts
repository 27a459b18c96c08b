import { unknownGuards } from '../../config/cross-check-guards.ts';
import { formatPath } from '../../config/problem.ts';
import { invalid } from '../../kernel/failure.ts';
import type { Directory } from '../directory.ts';
import { refuse } from '../operation.ts';

/** Refuses a body that names a guard that is not there, at its place in the list. */
export function refuseUnknownGuards(body: { guards?: readonly string[] | null | undefined }, { config }: Directory) {
  const [problem] = unknownGuards([], body, config);
  if (problem === undefined) return;
  const param = formatPath(problem.path);
  refuse(invalid(param, `${param}: ${problem.message}`));
}
