import { quoted, refuse } from '../filter/refuse.ts';
import type { Acknowledge } from './vector-request.ts';

/**
 * Options that Qdrant's clients put behind the `?`, checked. Only `wait` means something to one machine. Others than
 * these are ignored.
 */
export function readOptions(search: string): Acknowledge {
  if (search === '') return 'completed';
  const options = new URLSearchParams(search);
  const wait = options.get('wait');
  if (wait !== null && wait !== 'true' && wait !== 'false')
    refuse('wait', `expected true or false, got ${quoted(wait)}`);
  checkOption(options, 'ordering', /^(?:weak|medium|strong)$/, 'weak, medium or strong');
  checkOption(options, 'timeout', /^[1-9]\d{0,9}$/, 'whole seconds, at least 1');
  checkOption(options, 'consistency', /^(?:[1-9]\d{0,9}|majority|quorum|all)$/, 'a number, majority, quorum or all');
  return wait === 'false' ? 'acknowledged' : 'completed';
}

function checkOption(options: URLSearchParams, name: string, pattern: RegExp, expected: string): void {
  const value = options.get(name);
  if (value !== null && !pattern.test(value)) refuse(name, `expected ${expected}, got ${quoted(value)}`);
}
