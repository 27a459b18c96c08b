import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { classes } from './classes.ts';
import { ErrorNote } from './error-note.tsx';
import { useUnsaved } from './forms/use-unsaved.ts';

export interface DialogProps {
  open: boolean;
  /** Null: only its own buttons close it, and no stray key. */
  onClose: (() => void) | null;
  title: string;
  /** One sentence below the title. */
  description?: ReactNode;
  /** `side`: a drawer from the right, for long contents. */
  place?: 'middle' | 'side';
  width?: 'narrow' | 'wide';
  children: ReactNode;
}

/**
 * Gives the focus back to whatever opened a dialog, when it closes: to the button of its menu for an item of one.
 * Radix does so for Radix' triggers only.
 */
export function useFocusBack(open: boolean): (event: Event) => void {
  const [opener, setOpener] = useState<Element | null>(null);
  if (open && opener === null) setOpener(openerNow());
  return (event) => {
    event.preventDefault();
    setOpener(null);
    if (opener instanceof HTMLElement) opener.focus();
  };
}

function openerNow(): Element {
  const focused = document.activeElement ?? document.body;
  const menu = focused.closest('[role=menu]')?.getAttribute('aria-labelledby');
  return (menu == null ? null : document.getElementById(menu)) ?? focused;
}

/** Focuses the first field of a form that came after its dialog, while the focus is still at the dialog's own button. */
export function focusLateField(form: HTMLFormElement | null): void {
  if (document.activeElement?.matches('[role=dialog] [data-close]') === true) focusFirstField(form);
}

/** Returns whether there is a field to focus. */
function focusFirstField(within: HTMLElement | null): boolean {
  // Where nobody has a keyboard, the field would open one over half of the dialog.
  const field = matchMedia('(pointer: coarse)').matches ? null : within?.querySelector<HTMLElement>(typedInto);
  field?.focus();
  return field != null;
}

const typedInto = ':is(input:not([type=file], [type=checkbox]), select, textarea):enabled';

/**
 * Without Radix's overlay, which writes a style element: the gateway's Content-Security-Policy refuses those. The page
 * behind needs no lock either, since it scrolls in a separate box.
 */
export function Dialog({
  open,
  onClose,
  title,
  description,
  place = 'middle',
  width = 'narrow',
  children,
}: DialogProps) {
  const body = useRef<HTMLDivElement>(null);
  const giveBack = useFocusBack(open);
  // Whether a form in it was changed, and whether the reader is asked about that.
  const [unsaved, setUnsaved] = useState<'none' | 'some' | 'asked'>('none');
  if (!open && unsaved !== 'none') setUnsaved('none');
  useUnsaved(open && onClose !== null && unsaved !== 'none', 'dialog');
  const leave = () => {
    if (onClose === null || unsaved === 'asked') return;
    if (unsaved === 'some') setUnsaved('asked');
    else onClose();
  };
  const goToField = (event: Event) => {
    if (focusFirstField(body.current)) event.preventDefault();
  };
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && leave()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-black/40" aria-hidden />
        <Radix.Content
          {...(description === undefined && { 'aria-describedby': undefined })}
          onOpenAutoFocus={goToField}
          onCloseAutoFocus={giveBack}
          className={classes(
            'fixed z-50 flex flex-col border border-line bg-raised outline-none',
            place === 'side'
              ? 'inset-y-0 right-0 w-full max-w-xl border-y-0 border-r-0'
              : 'inset-x-0 bottom-0 max-h-[92dvh] rounded-t-xl sm:inset-x-auto sm:top-[10dvh] sm:bottom-auto sm:left-1/2 sm:max-h-[80dvh] sm:w-[calc(100%-2rem)] sm:-translate-x-1/2 sm:rounded-xl',
            place === 'middle' && (width === 'wide' ? 'sm:max-w-3xl' : 'sm:max-w-lg'),
          )}
        >
          <header className="flex items-start gap-2 border-line border-b px-4 py-3">
            <div className="min-w-0 flex-1">
              <Radix.Title className="font-semibold text-base">{title}</Radix.Title>
              {description !== undefined && (
                <Radix.Description className="mt-0.5 text-muted text-sm">{description}</Radix.Description>
              )}
            </div>
            {onClose !== null && (
              <Radix.Close asChild>
                <IconButton label="Close" data-close className="-mt-1 -mr-2">
                  <X />
                </IconButton>
              </Radix.Close>
            )}
          </header>
          {unsaved === 'asked' && (
            <div role="alert" className="flex flex-wrap items-center gap-2 border-line border-b bg-warn-soft px-4 py-2">
              <span className="min-w-40 flex-1 text-sm">Your changes are not saved.</span>
              <Button onClick={() => setUnsaved('some')}>Keep editing</Button>
              <Button look="danger" onClick={() => onClose?.()}>
                Discard them
              </Button>
            </div>
          )}
          <div
            ref={body}
            onInput={({ target }) => unsaved === 'none' && isInForm(target) && setUnsaved('some')}
            onClickCapture={({ target }) => unsaved === 'none' && isChanging(target) && setUnsaved('some')}
            className="relative min-h-0 flex-1 overflow-y-auto p-4"
          >
            {children}
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function isInForm(target: EventTarget): boolean {
  return target instanceof Element && target.closest('form') !== null;
}

/** Buttons with `data-changes` change the form around them, such as one that takes a row away. */
function isChanging(target: EventTarget): boolean {
  return target instanceof Element && target.closest('form [data-changes]') !== null;
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  /** Its consequences. */
  children: ReactNode;
  action: string;
  /** Throws what went wrong; the dialog stays open then and says it. */
  onConfirm: () => Promise<unknown>;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ open, onClose, title, children, action, onConfirm }: ConfirmProps) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const close = () => {
    setError(null);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={close} title={title}>
      <div className="flex flex-col gap-4">
        <div className="text-sm">{children}</div>
        {error !== null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>Cancel</Button>
          <Button look="danger" busy={busy} onClick={() => void confirm()}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
