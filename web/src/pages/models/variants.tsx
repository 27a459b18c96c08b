import { Plus, Trash2 } from 'lucide-react';
import { prompts } from '../../api/entries.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { blankVariant, type VariantDraft, variantPath } from './variant-draft.ts';

interface VariantsProps {
  variants: readonly VariantDraft[];
  onVariants: (variants: readonly VariantDraft[]) => void;
  /** '' is the key. */
  sticky: string;
  onSticky: (sticky: string) => void;
  /** '' or `auto`. */
  rollback: string;
  onRollback: (rollback: string) => void;
}

/** Variants of a model, a box each. */
export function Variants(props: VariantsProps) {
  const { variants, onVariants, sticky, onSticky, rollback, onRollback } = props;
  const change = (row: number, changes: Partial<VariantDraft>) =>
    onVariants(variants.map((variant) => (variant.row === row ? { ...variant, ...changes } : variant)));
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium text-sm">Variants</legend>
      {variants.map((variant, at) => {
        const text = (name: 'name' | 'weight' | 'prompt' | 'targets' | 'parameters') => ({
          spellCheck: false,
          value: variant[name],
          onChange: ({ target }: { target: { value: string } }) => change(variant.row, { [name]: target.value }),
        });
        const place = `variants.${variant.name.trim()}`;
        return (
          <div key={variant.row} className="flex flex-col gap-2 rounded-md border border-line p-3">
            <div className="flex items-end gap-1">
              <Field name={variantPath(variants, at)} label="Variant" className="flex-1">
                <Input {...text('name')} placeholder="b" />
              </Field>
              <Field name={`${place}.weight`} label="Share" className="w-20">
                <Input {...text('weight')} inputMode="decimal" placeholder="1" />
              </Field>
              <IconButton
                data-changes
                label={`Remove variant ${at + 1}`}
                onClick={() => onVariants(variants.filter(({ row }) => row !== variant.row))}
              >
                <Trash2 />
              </IconButton>
            </div>
            <div className="grid gap-2 sm:grid-cols-2">
              <Field name={`${place}.prompt`} label="Prompt">
                <SuggestInput from={prompts.path} field="name" placeholder="None, or reply@3" {...text('prompt')} />
              </Field>
              <Field name={`${place}.parameters`} label="Parameters">
                <Input {...text('parameters')} placeholder='{"temperature": 0.2}' autoComplete="off" />
              </Field>
            </div>
            <Field name={`${place}.targets`} label="Targets of the variant">
              {variant.writtenTargets === null ? (
                <NamesInput {...text('targets')} placeholder="The model's" />
              ) : (
                <Input disabled placeholder="As they are, with their options" />
              )}
            </Field>
          </div>
        );
      })}
      <p className="text-muted text-xs">
        Each caller stays with one variant. Shares are of callers, and the results are on the page of the model.
      </p>
      <div className="flex flex-wrap items-end gap-3">
        <Button
          data-changes
          icon={<Plus className="size-4" />}
          onClick={() => onVariants([...variants, blankVariant()])}
        >
          Add variant
        </Button>
        {variants.length > 0 && (
          <Field name="rollback" label="A variant that is clearly worse">
            <Select value={rollback} onChange={({ target }) => onRollback(target.value)}>
              <option value="">Stays</option>
              <option value="auto">Is taken out</option>
            </Select>
          </Field>
        )}
        {variants.length > 0 && (
          <Field name="sticky" label="Assign variants to">
            <Select value={sticky} onChange={({ target }) => onSticky(target.value)}>
              <option value="">A key</option>
              <option value="user">An end user</option>
              <option value="session">A session</option>
            </Select>
          </Field>
        )}
      </div>
    </fieldset>
  );
}
