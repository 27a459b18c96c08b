import type { HookFile } from './find-module.ts';
import type { HookName } from './hook-names.ts';

export interface HookThreadData {
  /** URL of the module, or the name of a package. */
  module: string;
  /** Folder from which packages are found. */
  folder: string;
  settings: Readonly<Record<string, unknown>>;
  /** Number of the call whose code runs right now (0: none), and of the last one that has begun. */
  state: SharedArrayBuffer;
}

/** Places of `HookThreadData.state`. */
export const runningAt = 0;
export const begunAt = 1;

export interface HookOrder {
  id: number;
  on: HookName;
  data: object;
}

/** `reply`: JSON; null: it replied with nothing. */
export type HookReply =
  | { ready: HookName[]; files: HookFile[] }
  | { broken: string }
  | { id: number; reply: string | null }
  | { id: number; why: string };
