import { Plus, Trash2 } from 'lucide-react';
import { formatPath } from '../../../../src/config/problem.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { blankVariable, type VariableDraft } from './prompt-draft.ts';
import type { Variable } from './versions.ts';

interface VariablesProps {
  variables: readonly VariableDraft[];
  onVariables: (variables: readonly VariableDraft[]) => void;
}

const types: readonly Variable['type'][] = ['string', 'number', 'boolean'];

/** Whether an earlier variable has the same name. */
export function isTwin(variables: readonly VariableDraft[], at: number): boolean {
  const name = variables[at]?.name.trim();
  return name !== '' && variables.findIndex((other) => other.name.trim() === name) < at;
}

/** Variables of a version, a line each: name, type, and the value of requests that give none. */
export function Variables({ variables, onVariables }: VariablesProps) {
  const change = (row: number, changes: Partial<VariableDraft>) =>
    onVariables(variables.map((variable) => (variable.row === row ? { ...variable, ...changes } : variable)));
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium text-sm">Variables</legend>
      {variables.map(({ row, name, type, usual }, at) => (
        <div key={row} className="flex flex-col gap-2 rounded-md border border-line p-3">
          <div className="flex items-end gap-1">
            <Field
              name={formatPath(['variables', name])}
              label="Variable"
              fault={isTwin(variables, at) ? 'There is a variable with this name already.' : null}
              className="flex-1"
            >
              <Input
                spellCheck={false}
                autoComplete="off"
                value={name}
                onChange={({ target }) => change(row, { name: target.value })}
              />
            </Field>
            <IconButton
              data-changes
              label={`Remove variable ${at + 1}`}
              onClick={() => onVariables(variables.filter((variable) => variable.row !== row))}
            >
              <Trash2 />
            </IconButton>
          </div>
          <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
            <Field
              name={formatPath(['variables', name, 'type'])}
              label={<span className="text-muted text-xs">Type</span>}
            >
              <Select value={type} onChange={({ target }) => change(row, { type: target.value as Variable['type'] })}>
                {types.map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </Select>
            </Field>
            <Field
              name={formatPath(['variables', name, 'needed'])}
              label={<span className="text-muted text-xs">Value</span>}
            >
              <Select
                value={usual === null ? 'required' : 'default'}
                onChange={({ target }) => change(row, { usual: target.value === 'required' ? null : '' })}
              >
                <option value="required">required</option>
                <option value="default">with a default</option>
              </Select>
            </Field>
            {usual !== null && (
              <Field
                name={formatPath(['variables', name, 'default'])}
                label={<span className="text-muted text-xs">Default</span>}
                className="col-span-2 sm:col-span-1"
              >
                <Input value={usual} onChange={({ target }) => change(row, { usual: target.value })} />
              </Field>
            )}
          </div>
        </div>
      ))}
      <Button
        data-changes
        className="self-start"
        icon={<Plus className="size-4" />}
        onClick={() => onVariables([...variables, blankVariable()])}
      >
        Add variable
      </Button>
    </fieldset>
  );
}
