import { useState } from 'react';
import { useStored } from '../stored/use-stored.ts';

type TextNames<Values> = { [Name in keyof Values]: Values[Name] extends string ? Name : never }[keyof Values];

/** Props of the control of each text of `values` by its name; `change` takes what is typed. */
export function textFields<Values extends object>(values: Values, change: (changes: Partial<Values>) => void) {
  return (name: TextNames<Values>) => ({
    value: values[name] as string,
    onChange: ({ target }: { target: { value: string } }) =>
      change({ [name]: target.value } as unknown as Partial<Values>),
  });
}

/** A form's values, props of the control of each text, and what changes some. */
export function useFields<Values extends object>(blank: Values) {
  return fieldsOf(useState(blank));
}

/** The same, kept over a reload as `useStored` does. */
export function useStoredFields<Values extends object>(...stored: Parameters<typeof useStored<Values>>) {
  return fieldsOf(useStored(...stored));
}

function fieldsOf<Values extends object>([values, set]: [Values, (next: (before: Values) => Values) => void]) {
  const change = (changes: Partial<Values>) => set((before) => ({ ...before, ...changes }));
  return [values, textFields(values, change), change] as const;
}
