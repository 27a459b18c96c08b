import { useQuery } from '@tanstack/react-query';
import { Plus, Trash2 } from 'lucide-react';
import { useId } from 'react';
import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import { models } from '../../api/entries.ts';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Button, IconButton } from '../../parts/button.tsx';
import { Input } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { blankTarget, type TargetDraft, targetPath } from './model-draft.ts';

/** Names offered; beyond them one types on. */
const offeredMax = 1_000;

const figures = [
  { name: 'priority', label: 'Priority', placeholder: '1' },
  { name: 'weight', label: 'Weight', placeholder: '1' },
  { name: 'input', label: 'USD in', placeholder: 'list price' },
  { name: 'output', label: 'USD out', placeholder: 'list price' },
] as const;

interface TargetsProps {
  targets: readonly TargetDraft[];
  onTargets: (targets: readonly TargetDraft[]) => void;
}

/** Targets of a model, a line each. */
export function Targets({ targets, onTargets }: TargetsProps) {
  const listId = useId();
  const { data: known } = useQuery({
    queryKey: [models.path, 'targets'],
    queryFn: ({ signal }) => get<Listed<ModelReply>>(models.path, { limit: offeredMax }, signal),
    staleTime: 60_000,
  });
  const names = new Set(known?.data.flatMap(({ targets: all }) => all.map(({ target }) => target)));
  const change = (row: number, changes: Partial<TargetDraft>) =>
    onTargets(targets.map((target) => (target.row === row ? { ...target, ...changes } : target)));
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-2 font-medium text-sm">Targets</legend>
      {targets.map((target, at) => (
        <div key={target.row} className="flex flex-col gap-2 rounded-md border border-line p-3">
          <div className="flex items-end gap-1">
            <Field name={nameField(targets, at)} label="Target" className="flex-1">
              <Input
                list={listId}
                spellCheck={false}
                autoComplete="off"
                placeholder="provider/model"
                value={target.target}
                onChange={(event) => change(target.row, { target: event.target.value })}
              />
            </Field>
            {targets.length > 1 && (
              <IconButton
                data-changes
                label={`Remove target ${at + 1}`}
                onClick={() => onTargets(targets.filter(({ row }) => row !== target.row))}
              >
                <Trash2 />
              </IconButton>
            )}
          </div>
          <div className="grid grid-cols-2 gap-2 sm:grid-cols-4">
            {figures.map(({ name, label, placeholder }) => (
              <Field
                key={name}
                name={fieldName(targetPath(targets, target), name)}
                label={<span className="text-muted text-xs">{label}</span>}
              >
                <Input
                  inputMode="decimal"
                  placeholder={placeholder}
                  value={target[name]}
                  onChange={(event) => change(target.row, { [name]: event.target.value })}
                />
              </Field>
            ))}
          </div>
        </div>
      ))}
      <p className="text-muted text-xs">
        Targets with the lowest priority number share requests by weight. The others are tried when all of these fail.
        Prices are USD per 1M tokens. Leave them empty for the list price, if Culvert knows it.
      </p>
      <Button
        data-changes
        className="self-start"
        icon={<Plus className="size-4" />}
        onClick={() => onTargets([...targets, blankTarget()])}
      >
        Add target
      </Button>
      <datalist id={listId}>
        {[...names].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </fieldset>
  );
}

/** The first line that is sent also has the messages about all targets. */
function nameField(targets: readonly TargetDraft[], at: number): string {
  const path = targetPath(targets, targets[at]!);
  const isFirst = path === 'targets[0]' || (at === 0 && targets.every(({ target }) => target.trim() === ''));
  return isFirst ? 'targets' : path;
}

/** Name of a field in the server's messages. */
function fieldName(path: string, figure: (typeof figures)[number]['name']): string {
  return `${path}.${figure === 'input' || figure === 'output' ? `price.${figure}` : figure}`;
}
