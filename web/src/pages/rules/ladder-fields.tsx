import { Plus, X } from 'lucide-react';
import { models } from '../../api/entries.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { FieldGroup, Input, Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { blankStep, ladderBy, type RuleDraft, type Step } from './rule-fields.ts';

interface LadderFieldsProps {
  draft: Pick<RuleDraft, 'by' | 'steps'>;
  onChange: (changes: Partial<RuleDraft>) => void;
}

/** Steps of a ladder: the first that fits gives the model. */
export function LadderFields({ draft: { by, steps }, onChange }: LadderFieldsProps) {
  const change = (at: number, changes: Partial<Step>) =>
    onChange({ steps: steps.map((step, place) => (place === at ? { ...step, ...changes } : step)) });
  const least = by === 'tokens' ? '0' : '0.5';
  return (
    <>
      <Field name="ladder.by" label="Choose by">
        <Select value={by} onChange={({ target }) => onChange({ by: target.value })}>
          {Object.entries(ladderBy).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
      <Field name="ladder" label="Steps" hint="The first step that fits gives the model. Leave a bound empty for none.">
        <FieldGroup label="Steps" className="flex flex-col gap-2">
          <div aria-hidden className="flex gap-2 text-muted text-xs">
            <span className="w-20 shrink-0">At least</span>
            <span className="w-20 shrink-0">At most</span>
            <span>Model</span>
          </div>
          {steps.map(({ at_least, at_most, model }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
            <div key={at} className="flex items-center gap-2">
              <Input
                aria-label={`At least, step ${at + 1}`}
                className="w-20 shrink-0"
                inputMode="decimal"
                placeholder={least}
                value={at_least}
                onChange={({ target }) => change(at, { at_least: target.value })}
              />
              <Input
                aria-label={`At most, step ${at + 1}`}
                className="w-20 shrink-0"
                inputMode="decimal"
                value={at_most}
                onChange={({ target }) => change(at, { at_most: target.value })}
              />
              <SuggestInput
                aria-label={`Model, step ${at + 1}`}
                from={models.path}
                field="id"
                value={model}
                onChange={({ target }) => change(at, { model: target.value })}
              />
              <IconButton
                data-changes
                label={`Remove step ${at + 1}`}
                disabled={steps.length === 1}
                onClick={() => onChange({ steps: steps.filter((_, place) => place !== at) })}
              >
                <X className="size-4" aria-hidden />
              </IconButton>
            </div>
          ))}
          <Button
            data-changes
            size="row"
            className="self-start"
            icon={<Plus className="size-3.5" aria-hidden />}
            onClick={() => onChange({ steps: [...steps, blankStep] })}
          >
            Add step
          </Button>
        </FieldGroup>
      </Field>
    </>
  );
}
