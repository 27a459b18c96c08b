import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type Area, useMay, useMayAllAccounts } from '../../api/rights.ts';
import { Button } from '../button.tsx';
import { Dialog, type DialogProps } from '../dialog.tsx';

interface Adding extends Pick<DialogProps, 'title' | 'description' | 'place'> {
  area: Area;
  /** Only operators of all accounts make one. */
  ofAllAccounts?: boolean;
  /** On the button. */
  label: string;
  /** The form of a new one; `done` closes it. */
  form: (done: () => void) => ReactNode;
}

/** A button that opens the form of a new entry: false for who may not make one. The dialog has its place once. */
export function useAdding({ area, ofAllAccounts = false, label, form, ...dialog }: Adding): {
  add: ReactNode;
  dialog: ReactNode;
} {
  const hasAll = useMayAllAccounts();
  const may = useMay(area, 'write') && (hasAll || !ofAllAccounts);
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return {
    add: may && (
      <Button look="main" icon={<Plus className="size-4" />} onClick={() => setOpen(true)}>
        {label}
      </Button>
    ),
    dialog: (
      <Dialog open={open} onClose={close} {...dialog}>
        {form(close)}
      </Dialog>
    ),
  };
}
