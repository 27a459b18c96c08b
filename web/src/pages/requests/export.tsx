import { Download } from 'lucide-react';
import type { Query } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { saveLong } from '../../parts/forms/save.ts';
import { Menu, MenuItem } from '../../parts/menu.tsx';

/** Everything that the filters let through, over HTTP as it is read. */
export function Export({ filters: { text, ...query } }: { filters: Query }) {
  const isOne = text !== undefined;
  const save = (format: 'csv' | 'jsonl') => void saveLong(`/admin/v1/requests.${format}`, query, `requests.${format}`);
  const button = (
    <Button
      icon={<Download className="size-4" />}
      disabled={isOne}
      title={isOne ? 'An export has no filter by id.' : undefined}
    >
      Export
    </Button>
  );
  return (
    <Menu trigger={button}>
      <MenuItem onSelect={() => save('csv')}>CSV, without routes</MenuItem>
      <MenuItem onSelect={() => save('jsonl')}>JSON lines, with routes</MenuItem>
    </Menu>
  );
}
