import { useQuery } from '@tanstack/react-query';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';

const skippedKey = 'culvert.welcome';

/** Whether an empty installation should begin with its first steps: only the simulator answers yet. */
export function useWelcome(): boolean {
  const may = useMay('providers', 'write');
  const skipped = localStorage.getItem(skippedKey) !== null;
  const { data } = useQuery({
    queryKey: ['/admin/v1/providers', 'any'],
    queryFn: ({ signal }) => get<Listed<ProviderReply>>('/admin/v1/providers', { limit: 1_000 }, signal),
    enabled: may && !skipped,
    staleTime: 60_000,
  });
  if (!may || skipped || data === undefined) return false;
  return data.data.every(({ serves, simulated, source }) => serves === 'search' || simulated || source === 'built-in');
}

/** This browser is not led there again. */
export function skipWelcome(): void {
  localStorage.setItem(skippedKey, 'skipped');
}
