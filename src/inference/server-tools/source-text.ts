import type { ServerSource } from '../../formats/neutral/server-tool.ts';
import { markOf } from './source-marks.ts';

/** A source as the model reads it. `mark`: its index among those that the answer may cite; null: it may not. */
export function sourceText({ url, title, age, quote }: ServerSource, mark: number | null): string {
  const head = mark === null ? title : `${markOf(mark)} ${title}`;
  return [head, url, age, quote].filter((line) => line !== null && line !== '').join('\n');
}
