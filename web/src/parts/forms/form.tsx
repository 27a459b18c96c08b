import {
  createContext,
  type FormEvent,
  type ReactNode,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { ApiError } from '../../api/request.ts';
import { classes } from '../classes.ts';
import { focusLateField } from '../dialog.tsx';
import { ErrorNote } from '../error-note.tsx';
import { FieldProblem } from './typed.ts';

interface FormFacts {
  /** The server's message about a field, by `error.param`. */
  messageAt: (name: string) => string | null;
  claim: (name: string) => () => void;
}

const FormContext = createContext<FormFacts>({ messageAt: () => null, claim: () => () => {} });

interface FormProps {
  /** Error of the last attempt. A message about a field appears at the Field of that name, any other at the end. */
  error: Error | null;
  onSubmit: () => void;
  children: ReactNode;
  className?: string;
  /** Buttons, below what went wrong. */
  footer?: ReactNode;
}

export function Form({ error, onSubmit, children, className, footer }: FormProps) {
  const [names, setNames] = useState<ReadonlySet<string>>(new Set());
  const param = error instanceof ApiError ? error.param : error instanceof FieldProblem ? error.field : null;
  const home = param === null ? null : fieldOf(param, names);
  const facts = useMemo<FormFacts>(
    () => ({
      messageAt: (name) => (error !== null && home === name ? labelledMessage(name, error.message, param) : null),
      claim(name) {
        setNames((before) => new Set(before).add(name));
        return () =>
          setNames((before) => {
            const after = new Set(before);
            after.delete(name);
            return after;
          });
      },
    }),
    [error, home, param],
  );
  const form = useRef<HTMLFormElement>(null);
  // The wrong field may have been scrolled away.
  useEffect(() => {
    if (error !== null && home !== null) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [error, home]);
  useEffect(() => focusLateField(form.current), []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <FormContext value={facts}>
      <form ref={form} onSubmit={submit} noValidate className={classes('flex flex-col gap-4', className)}>
        {children}
        {error !== null && home === null && <ErrorNote error={error} />}
        {footer !== undefined && <div className="flex flex-wrap items-center justify-end gap-2">{footer}</div>}
      </form>
    </FormContext>
  );
}

/** `targets[0].weight` is shown at the Field `targets` when it has none. */
function fieldOf(param: string, names: ReadonlySet<string>): string | null {
  for (let name = param; name !== ''; name = name.replace(/(^|[.[])[^.[]*$/, '')) if (names.has(name)) return name;
  return null;
}

/** The message is next to the field's name already; where it is about a part of it, that is named. */
function labelledMessage(name: string, message: string, param: string | null): string {
  if (name !== param) return message;
  const rest = message.startsWith(`${param}: `) ? message.slice(param.length + 2) : message;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

interface FieldProps {
  /** The server's name of it in `error.param`. */
  name: string;
  label: ReactNode;
  hint?: ReactNode;
  /** A message of our own, before anything is sent. */
  fault?: string | null;
  className?: string;
  /** One control, which takes its label, hint and message by `useControl`. */
  children: ReactNode;
}

interface ControlProps {
  id: string;
  name: string;
  'aria-invalid': boolean;
  'aria-describedby': string | undefined;
}

const ControlContext = createContext<ControlProps | null>(null);

/** Props of the control inside a Field, which tie it to label, hint and message; null outside. */
export function useControl(): ControlProps | null {
  return useContext(ControlContext);
}

/** Controls inside a Field besides the one of its label. */
export function OtherControls({ children }: { children: ReactNode }) {
  return <ControlContext value={null}>{children}</ControlContext>;
}

export function Field({ name, label, hint, fault, className, children }: FieldProps) {
  const id = useId();
  const { messageAt, claim } = useContext(FormContext);
  useEffect(() => claim(name), [claim, name]);
  const message = fault ?? messageAt(name);
  const described = message !== null ? `${id}-fault` : hint === undefined ? undefined : `${id}-hint`;
  return (
    <div className={classes('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      <ControlContext value={{ id, name, 'aria-invalid': message !== null, 'aria-describedby': described }}>
        {children}
      </ControlContext>
      {message !== null ? (
        <p id={`${id}-fault`} role="alert" className="text-bad text-xs">
          {message}
        </p>
      ) : (
        hint !== undefined && (
          <p id={`${id}-hint`} className="text-muted text-xs">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
