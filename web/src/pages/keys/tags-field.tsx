import type { ComponentProps } from 'react';
import { Input } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';

/** The tags of a key; `field` has the text and takes its changes. */
export function TagsField({ field }: { field: Pick<ComponentProps<typeof Input>, 'value' | 'onChange'> }) {
  return (
    <Field
      name="tags"
      label="Tags"
      hint="Separated by commas, such as a team or a project. Usage can be grouped by them."
    >
      <Input placeholder="None" {...field} />
    </Field>
  );
}
