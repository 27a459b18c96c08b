import { Plus, X } from 'lucide-react';
import { models } from '../../api/entries.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { FieldGroup, Input, Switch, TextArea } from '../../parts/controls.tsx';
import { textFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { blankClass, type ClassifyDraft, type RuleDraft } from './rule-fields.ts';

interface ClassFieldsProps {
  draft: ClassifyDraft;
  onChange: (changes: Partial<RuleDraft>) => void;
}

/** Classes of requests by examples, each with its model. */
export function ClassFields({ draft, onChange }: ClassFieldsProps) {
  const { classes } = draft;
  const set = (changes: Partial<ClassifyDraft>) => onChange({ classify: { ...draft, ...changes } });
  const field = textFields(draft, set);
  const change = (at: number, changes: Partial<ClassifyDraft['classes'][number]>) =>
    set({ classes: classes.map((one, place) => (place === at ? { ...one, ...changes } : one)) });
  return (
    <>
      <Field
        name="classify.embedding_model"
        label="Embedding model"
        hint="It compares the newest text of the user with the examples. culvert-lexical-1024 is built in and compares words alone."
      >
        <SuggestInput {...field('embedding_model')} from={models.path} field="id" />
      </Field>
      <Field name="classify" label="Classes" hint="The class with the nearest examples gives the model.">
        <FieldGroup label="Classes" className="flex flex-col gap-3">
          {classes.map(({ model, examples }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a class is its place
            <div key={at} className="flex flex-col gap-1.5 border-line border-l-2 pl-3">
              <div className="flex items-center gap-2">
                <SuggestInput
                  aria-label={`Model, class ${at + 1}`}
                  placeholder="Model"
                  from={models.path}
                  field="id"
                  value={model}
                  onChange={({ target }) => change(at, { model: target.value })}
                />
                <IconButton
                  data-changes
                  label={`Remove class ${at + 1}`}
                  disabled={classes.length <= 2}
                  onClick={() => set({ classes: classes.filter((_, place) => place !== at) })}
                >
                  <X className="size-4" aria-hidden />
                </IconButton>
              </div>
              <TextArea
                aria-label={`Examples, class ${at + 1}`}
                placeholder="Examples, one per line. ⏎ is a line break in one"
                rows={4}
                className="field-sizing-content max-h-80 min-h-20 w-full text-xs"
                value={examples}
                onChange={({ target }) => change(at, { examples: target.value })}
              />
            </div>
          ))}
          <Button
            data-changes
            size="row"
            className="self-start"
            icon={<Plus className="size-3.5" aria-hidden />}
            onClick={() => set({ classes: [...classes, blankClass] })}
          >
            Add class
          </Button>
        </FieldGroup>
      </Field>
      <Field
        name="classify.otherwise"
        label="Otherwise"
        hint="The model where no class is clearly the nearest. Leave it empty for the model that the request names."
      >
        <SuggestInput {...field('otherwise')} from={models.path} field="id" />
      </Field>
      <Field
        name="classify.margin"
        label="Margin"
        hint="How much nearer the best class must be than the second, 0 to 1."
      >
        <Input {...field('margin')} inputMode="decimal" placeholder="0.02" className="w-28" />
      </Field>
      <Field
        name="classify.observe"
        label="Only observe"
        hint="Records say which model would answer, and nothing changes."
      >
        <Switch checked={draft.observe} onCheckedChange={(on) => set({ observe: on })} />
      </Field>
    </>
  );
}
