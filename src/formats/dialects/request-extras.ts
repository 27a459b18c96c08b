import type { RequestExtras } from './dialect.ts';

export const noExtras: RequestExtras = {
  fallbackModels: [],
  references: null,
  nativeOnly: null,
  nativeFor: null,
  state: null,
  serverTools: null,
  answerGives: null,
};

/** The extras of a request; null when it has none of them. */
export function someExtras(found: Partial<RequestExtras>): RequestExtras | null {
  const extras = { ...noExtras, ...found };
  const { fallbackModels, ...others } = extras;
  return fallbackModels.length === 0 && Object.values(others).every((one) => one === null) ? null : extras;
}
