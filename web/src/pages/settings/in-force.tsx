import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useCallback, useMemo, useState } from 'react';
import { ApiError, call, get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { toast } from '../../parts/toast.tsx';
import { type Problem, Problems } from './problems.tsx';

interface ConfigReply {
  file: string | null;
  config: Record<string, unknown>;
}

/** The configuration in force, every default filled in, and a button that reads the file again. */
export function InForce() {
  const [{ text = '' }, setFilters] = useFilters<'text'>();
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/config'],
    queryFn: ({ signal }) => get<ConfigReply>('/admin/v1/config', {}, signal),
  });
  const sections = useMemo(() => sectionsOf(data?.config ?? {}, text.toLowerCase()), [data, text]);
  const onText = useCallback((value: string) => setFilters({ text: value }), [setFilters]);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <SearchInput label="Find a setting" value={text} onValue={onText} className="w-full sm:w-72" />
        <p className="min-w-0 flex-1 basis-64 text-muted [overflow-wrap:anywhere]">
          {data !== undefined &&
            `${data.file ?? 'There is no configuration file'}. Durations are in ms, sizes in bytes.`}
        </p>
        {data?.file != null && <Reload />}
      </div>
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <SkeletonRows />}
      {data !== undefined && sections.length === 0 && <Empty title="No setting matches." />}
      {sections.map(({ name, settings }) => (
        <Section key={name} title={name} inside="flush">
          <dl className="divide-y divide-line">
            {settings.map(({ path, value }) => (
              <div key={path} className="grid gap-x-4 px-4 py-1.5 sm:grid-cols-[18rem_minmax(0,1fr)]">
                <dt className="font-mono text-muted text-xs leading-5 [overflow-wrap:anywhere]">{path}</dt>
                <dd className="font-mono text-xs leading-5 [overflow-wrap:anywhere]">{value}</dd>
              </div>
            ))}
          </dl>
        </Section>
      ))}
    </>
  );
}

interface Setting {
  /** Below its section, such as `log.level`. */
  path: string;
  value: string;
}

function sectionsOf(config: Record<string, unknown>, text: string): { name: string; settings: Setting[] }[] {
  return Object.entries(config)
    .map(([name, value]) => {
      const settings: Setting[] = [];
      flatten(value, '', settings);
      return { name, settings: settings.filter(({ path }) => `${name}.${path}`.toLowerCase().includes(text)) };
    })
    .filter(({ settings }) => settings.length > 0);
}

/** Lists of plain values are in one line. */
function flatten(value: unknown, path: string, into: Setting[]): void {
  const below = typeof value === 'object' && value !== null && !isPlainList(value);
  if (!below || Object.keys(value).length === 0) {
    const shown =
      typeof value === 'string'
        ? value
        : isPlainList(value)
          ? (value as unknown[]).join(', ') || '[]'
          : JSON.stringify(value);
    into.push({ path: path === '' ? 'value' : path, value: shown ?? 'not set' });
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `[${name}]` : path === '' ? name : `.${name}`;
    flatten(inner, path + at, into);
  }
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
}

function Reload() {
  const client = useQueryClient();
  const may = useMay('settings', 'write');
  const [problems, setProblems] = useState<readonly Problem[]>([]);
  const reload = useMutation({
    mutationFn: (force: boolean) => call('POST', '/admin/v1/config/reload', { body: { force } }),
    onSuccess() {
      setProblems([]);
      toast('The configuration file was reloaded.');
      void client.invalidateQueries();
    },
    onError(error) {
      setProblems(error instanceof ApiError ? ((error.members.errors as Problem[] | undefined) ?? []) : []);
    },
  });
  if (!may) return null;
  return (
    <>
      <Button icon={<RefreshCw className="size-4" />} busy={reload.isPending} onClick={() => reload.mutate(false)}>
        Reload the file
      </Button>
      {reload.error !== null && (
        <div className="flex w-full flex-col gap-2">
          <ErrorNote error={reload.error} />
          <Problems problems={problems} tone="bad" />
          {problems.some(({ message }) => message.includes('--force')) && (
            <div>
              <Button look="danger" onClick={() => reload.mutate(true)}>
                Reload anyway
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  );
}
