import type { Model } from '../../api/caller.ts';
import { Choose } from '../../parts/forms/choose.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { modelChoices } from './model-choices.tsx';

/** The model that was chosen before, else the first. */
export function modelOf(models: readonly Model[], chosen: string): string {
  return models.some(({ id }) => id === chosen) ? chosen : models[0]!.id;
}

interface ModelFieldProps {
  models: readonly Model[];
  value: string;
  onValue: (id: string) => void;
}

export function ModelField({ models, value, onValue }: ModelFieldProps) {
  return (
    <Field name="model" label="Model">
      <Choose label="Model" value={value} options={modelChoices(models)} onValue={onValue} className="w-full" />
    </Field>
  );
}
