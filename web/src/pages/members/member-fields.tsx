import type { ComponentProps } from 'react';
import { Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { NamesInput } from '../../parts/forms/names-input.tsx';

/** Ids in a text; null: none, which means all accounts. */
export function listedAccounts(text: string): string[] | null {
  const listed = text.split(/[\s,]+/).filter((id) => id !== '');
  return listed.length === 0 ? null : listed;
}

export function RoleField({ field }: { field: ComponentProps<'select'> }) {
  return (
    <Field name="role" label="Role">
      <Select {...field}>
        <option value="viewer">viewer: may only read</option>
        <option value="member">member: makes keys, sees requests and usage</option>
        <option value="billing">billing: accounts, plans and usage</option>
        <option value="admin">admin: everything except operators</option>
        <option value="owner">owner: everything</option>
      </Select>
    </Field>
  );
}

export function AccountsField({ field }: { field: Pick<ComponentProps<typeof NamesInput>, 'value' | 'onChange'> }) {
  return (
    <Field name="accounts" label="Accounts" hint="The accounts that the operator may see and change.">
      <NamesInput from="/admin/v1/accounts" field="id" placeholder="All" {...field} />
    </Field>
  );
}
