import { refuse } from './refuse.ts';

/** Filters within filters, nested ones too. */
export const filterDepthMax = 64;
/** Conditions of a whole filter, those of inner filters too. */
export const filterConditionsMax = 1_024;
/** Values that a whole filter lists in `any`, `except` and `has_id`, and words of `text_any`. */
export const filterValuesMax = 10_000;

/** What is left of a filter's bounds while it is read. */
export interface FilterBudget {
  conditions: number;
  values: number;
  depth: number;
  /** Inside a `nested` condition, where a point's id and vector are out of reach. */
  nested: boolean;
}

/** Counts `count` listed values; throws a FailureError (400) when the filter has too many of them. */
export function takeValues(count: number, at: string, budget: FilterBudget): void {
  budget.values -= count;
  if (budget.values < 0)
    refuse(at, `a filter lists at most ${filterValuesMax} values (any, except, has_id, text_any); split the call`);
}
