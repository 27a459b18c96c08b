import type { Address, FetchRules } from '../../net/fetch-guard.ts';
import type { Rendered, RenderOrder } from '../page-renderer.ts';

/** A page for the browser's thread. */
export interface PageVisit extends Omit<RenderOrder, 'tenant' | 'signal' | 'mayFollow'> {
  id: number;
  /** The program. */
  chromium: string;
  /** Our name, added to the browser's own. */
  userAgent: string;
  /** In force when the page began; they hold for all that it asks for. */
  rules: FetchRules;
  /** `as-allowed`: asks `follow` before each navigation away from `url`. */
  follow: 'anywhere' | 'as-allowed';
}

/** A question that only the main thread can answer. */
export type RenderQuestion = { kind: 'resolve'; hostname: string } | { kind: 'follow'; id: number; url: string };

/** To `resolve`: addresses, null for none. To `follow`: whether it may. */
export type RenderReply = readonly Address[] | boolean | null;

export type ToRenderThread =
  | { kind: 'visit'; visit: PageVisit }
  /** Nobody waits for that page any more: `visited` follows when all of it is closed. */
  | { kind: 'leave'; id: number }
  | { kind: 'reply'; to: number; reply: RenderReply }
  /** Ends the browser, then the thread. */
  | { kind: 'close' };

export type FromRenderThread =
  | { kind: 'visited'; id: number; end: VisitEnd }
  | { kind: 'ask'; ask: number; question: RenderQuestion }
  /** For the operator's log. */
  | { kind: 'trouble'; message: string }
  /** The browser that runs; null: it has gone. */
  | { kind: 'browser'; pid: number | null };

/** `died`: the browser is gone, maybe over another page. Bodies arrive as plain `Uint8Array`. */
export type VisitEnd = Rendered | 'died';
