import { refuse } from './refuse.ts';

/** Filters within filters, nested ones too. */
export const filterDepthMax = 64;
/** Conditions of a whole filter, with those of inner filters. */
export const filterConditionsMax = 1_024;
/** Values that a whole filter lists in `any`, `except` and `has_id`, and points of its polygons. */
export const filterValuesMax = 10_000;

/** Texts that a whole filter looks for in payloads, each word of `text_any` one: every text is gone through for each. */
export const filterTextsMax = 128;

/** The rest of a filter's bounds while it is read. */
export interface FilterBudget {
  conditions: number;
  values: number;
  texts: number;
  depth: number;
  /** Inside a `nested` condition, where a point's id and vector are out of reach. */
  nested: boolean;
}

/** Counts texts to look for; throws a FailureError (400) when the filter has too many of them. */
export function takeTexts(count: number, at: string, budget: FilterBudget): void {
  budget.texts -= count;
  if (budget.texts < 0)
    refuse(at, `a filter looks for at most ${filterTextsMax} texts (text, phrase, words of text_any); split the call`);
}

/** Counts `count` listed values; throws a FailureError (400) when the filter has too many of them. */
export function takeValues(count: number, at: string, budget: FilterBudget): void {
  budget.values -= count;
  if (budget.values < 0)
    refuse(
      at,
      `a filter lists at most ${filterValuesMax} values (any, except, has_id, points of polygons); split the call`,
    );
}
