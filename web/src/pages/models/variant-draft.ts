import { FieldProblem, listIn, numberOrText, objectIn } from '../../parts/forms/typed.ts';

/** The typed values of a variant, as texts. */
export interface VariantDraft {
  /** Tells rows apart while they are edited. */
  row: number;
  name: string;
  weight: string;
  prompt: string;
  /** With commas between them; '' those of the model. */
  targets: string;
  /** Targets with options, which the form keeps as they are; null: there are none. */
  writtenTargets: readonly unknown[] | null;
  /** JSON. */
  parameters: string;
  /** Parts of its definition without a field here. */
  rest: Record<string, unknown>;
}

let rows = 0;

export function blankVariant(): VariantDraft {
  rows += 1;
  const blank = { name: '', weight: '', prompt: '', targets: '', parameters: '' };
  return { row: rows, ...blank, writtenTargets: null, rest: {} };
}

export function variantDrafts(variants: unknown): VariantDraft[] {
  const all = Object.entries((variants ?? {}) as Record<string, Record<string, unknown>>);
  return all.map(([name, { weight, prompt, targets, parameters, ...rest }]) => {
    const list = (targets as unknown[] | undefined) ?? [];
    const plain = list.every((target) => typeof target === 'string');
    return {
      ...blankVariant(),
      name,
      weight: weight === undefined ? '' : String(weight),
      prompt: prompt === undefined ? '' : String(prompt),
      targets: plain ? list.join(', ') : '',
      writtenTargets: plain ? null : list,
      parameters: parameters === undefined ? '' : JSON.stringify(parameters),
      rest,
    };
  });
}

/** Throws a FieldProblem where a variant has no name, or that of another one: it would be lost. */
export function refuseNameless(variants: readonly VariantDraft[]): void {
  const names = new Set<string>();
  for (const [at, variant] of variants.entries()) {
    const name = variant.name.trim();
    const field = variantPath(variants, at);
    const { weight, prompt, targets, parameters } = variant;
    if (name === '' && `${weight}${prompt}${targets}${parameters}`.trim() !== '')
      throw new FieldProblem(field, 'Name the variant, or remove it.');
    if (names.has(name)) throw new FieldProblem(field, 'Another variant has this name.');
    if (name !== '') names.add(name);
  }
}

/** Name of a variant's name in the server's messages; the first one has those about all of them. */
export function variantPath(variants: readonly VariantDraft[], at: number): string {
  const { name = '', row } = variants[at] ?? {};
  const same = variants.findIndex((one) => one.name.trim() === name.trim());
  return at === 0 ? 'variants' : name.trim() === '' || same < at ? `variant-${row}` : `variants.${name.trim()}`;
}

/**
 * The variants as culvert.yaml writes them; undefined: there are none. Text that is no number or JSON goes along: the
 * server names the wrong field.
 */
export function writtenVariants(variants: readonly VariantDraft[]): Record<string, unknown> | undefined {
  const named = variants.filter(({ name }) => name.trim() !== '');
  if (named.length === 0) return undefined;
  return Object.fromEntries(
    named.map(({ name, weight, prompt, targets, writtenTargets, parameters, rest }) => {
      const list = writtenTargets ?? listIn(targets, ',');
      return [
        name.trim(),
        {
          ...rest,
          ...(weight.trim() !== '' && { weight: numberOrText(weight) }),
          ...(prompt.trim() !== '' && { prompt: prompt.trim() }),
          ...(list.length > 0 && { targets: list }),
          ...(parameters.trim() !== '' && { parameters: objectIn(parameters) ?? parameters }),
        },
      ];
    }),
  );
}
