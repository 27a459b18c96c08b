import { FileInput, Input, Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import type { Schema } from './open-api.ts';

export type FormValues = Readonly<Record<string, string | readonly File[]>>;

interface FormFieldsProps {
  schema: Schema;
  values: FormValues;
  onChange: (values: FormValues) => void;
}

/** The fields of a form, with a picker for files. */
export function FormFields({ schema: { properties = {}, required = [] }, values, onChange }: FormFieldsProps) {
  const set = (name: string, value: FormValues[string]) => onChange({ ...values, [name]: value });
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {Object.entries(properties).map(([name, property]) => (
        <Field key={name} name={name} label={required.includes(name) ? name : `${name} (optional)`}>
          {isFile(property) ? (
            <FileInput
              multiple={property.type === 'array'}
              onChange={(event) => set(name, [...(event.target.files ?? [])])}
            />
          ) : choicesOf(property) !== null ? (
            <Select value={String(values[name] ?? '')} onChange={(event) => set(name, event.target.value)}>
              <option value="" />
              {choicesOf(property)!.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </Select>
          ) : (
            <Input
              spellCheck={false}
              value={String(values[name] ?? '')}
              onChange={(event) => set(name, event.target.value)}
            />
          )}
        </Field>
      ))}
    </div>
  );
}

/** Null: any text. Of a list one is chosen. */
function choicesOf({ type, enum: values, items }: Schema): readonly string[] | null {
  if (type === 'boolean') return ['true', 'false'];
  return (values ?? items?.enum)?.map(String) ?? null;
}

function isFile({ format, items }: Schema): boolean {
  return format === 'binary' || items?.format === 'binary';
}

/** Names of those that must be there and are not. */
export function missingIn({ required = [] }: Schema, values: FormValues): string[] {
  return required.filter((name) => (values[name]?.length ?? 0) === 0);
}

/** The form as it is sent; empty fields are left out. */
export function formDataOf(values: FormValues): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string') for (const file of value) form.append(name, file);
    else if (value !== '') form.set(name, value);
  }
  return form;
}
