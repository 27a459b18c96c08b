import type { JsonObject } from '../kernel/json.ts';
import { parseExact } from './exact-json.ts';
import type { Page } from './vector-store.ts';

/** A page whose payloads are JSON texts: numbers that keep their digits cannot go to another thread or process. */
export interface TextPage extends Pick<Page, 'next'> {
  points: readonly { payload?: string | null }[];
}

export function asTexts({ points, next }: Page): TextPage {
  return {
    points: points.map(({ payload, ...others }) => ({ ...others, payload: payload ? JSON.stringify(payload) : null })),
    next,
  };
}

export function fromTexts({ points, next }: TextPage): Page {
  const read = points.map((point) => ({
    ...point,
    payload: point.payload ? (parseExact(point.payload) as JsonObject) : null,
  }));
  return { points: read as Page['points'][number][], next };
}
