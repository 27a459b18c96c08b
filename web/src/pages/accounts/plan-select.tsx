import { useQuery } from '@tanstack/react-query';
import type { PlanReply } from '../../../../src/admin/entries/plans.ts';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Select } from '../../parts/controls.tsx';

const plansMax = 1_000;

interface PlanSelectProps {
  value: string;
  onValue: (value: string) => void;
  /** Words for none. */
  unless?: string;
  /** Offered last, besides the plans. */
  also?: { value: string; label: string };
}

export function PlanSelect({ value, onValue, unless, also }: PlanSelectProps) {
  const { data } = useQuery({
    queryKey: ['/admin/v1/plans', 'all'],
    queryFn: async ({ signal }) =>
      (await get<Listed<PlanReply>>('/admin/v1/plans', { limit: plansMax }, signal)).data.map(({ name }) => name),
  });
  const names = data ?? [];
  return (
    <Select value={value} onChange={(event) => onValue(event.target.value)}>
      {unless !== undefined && <option value="">{unless}</option>}
      {value !== '' && value !== also?.value && !names.includes(value) && <option>{value}</option>}
      {names.map((name) => (
        <option key={name}>{name}</option>
      ))}
      {also !== undefined && <option value={also.value}>{also.label}</option>}
    </Select>
  );
}
