import { ChevronDown, ChevronUp } from 'lucide-react';
import { Button, IconButton } from '../button.tsx';
import { Dialog } from '../dialog.tsx';
import { type Column, type Columns, nameOf } from './table-columns.ts';

interface ColumnsDialogProps {
  label: string;
  columns: Columns<unknown>;
  onClose: () => void;
}

/** Shows, hides and moves the columns of a table; each change at once. */
export default function ColumnsDialog({ label, columns, onClose }: ColumnsDialogProps) {
  const { movable, isShown, arrange } = columns;
  const hidden = movable.filter((column) => !isShown(column)).map(nameOf);
  const order = movable.map(nameOf);
  const show = (name: string, shown: boolean) =>
    arrange({ order, hidden: shown ? hidden.filter((one) => one !== name) : [...hidden, name] });
  const move = (at: number, by: 1 | -1) => {
    const next = [...order];
    [next[at], next[at + by]] = [next[at + by]!, next[at]!];
    arrange({ order: next, hidden });
  };
  const isLast = (column: Column<unknown>) => isShown(column) && hidden.length === movable.length - 1;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Columns: ${label}`}
      description="This browser remembers them. A narrow window still leaves some out."
    >
      <ul className="flex flex-col">
        {movable.map((column, at) => (
          <li key={nameOf(column)} className="flex h-9 items-center gap-2">
            <label className="flex min-w-0 flex-1 items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={isShown(column)}
                disabled={isLast(column)}
                onChange={({ target }) => show(nameOf(column), target.checked)}
              />
              <span className="truncate">{column.head}</span>
            </label>
            <IconButton label={`Move ${column.head} up`} size="row" disabled={at === 0} onClick={() => move(at, -1)}>
              <ChevronUp />
            </IconButton>
            <IconButton
              label={`Move ${column.head} down`}
              size="row"
              disabled={at === movable.length - 1}
              onClick={() => move(at, 1)}
            >
              <ChevronDown />
            </IconButton>
          </li>
        ))}
      </ul>
      <div className="mt-3 flex justify-end gap-2">
        <Button onClick={() => arrange({ order: [], hidden: [] })}>Reset</Button>
        <Button look="main" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
