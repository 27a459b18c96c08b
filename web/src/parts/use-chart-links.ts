import { useNavigate } from '@tanstack/react-router';
import { useMay } from '../api/rights.ts';
import { between } from './ranges/range.ts';
import type { Ranged } from './ranges/use-range.ts';

/** For charts of a page with a range: dragging shows a part of it, and a click leads to the requests of a step. */
export function useChartLinks(range: Ranged, filters: Record<string, string | undefined>) {
  const navigate = useNavigate();
  const may = useMay('requests', 'read');
  const onPick = (fromMs: number, toMs: number) =>
    void navigate({ to: '/dashboard/requests', search: { ...filters, range: between(fromMs, toMs) } as never });
  return { onZoom: range.zoom, ...(may && { onPick }) };
}
