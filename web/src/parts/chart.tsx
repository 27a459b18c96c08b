import { useEffect, useMemo, useRef, useState } from 'react';
import uPlot from 'uplot';
import { classes } from './classes.ts';
import { clock, day, short } from './format.ts';
import { shownZone } from './ranges/zone.ts';
import { useDrawnTheme } from './theme.ts';

export interface Series {
  label: string;
  values: readonly (number | null)[];
  /** Its value over the whole range, for lines: their values cannot be added up. */
  whole?: number | null;
  /** `bad` and `ok` mean something; numbers only tell series apart. */
  colour: 1 | 2 | 3 | 4 | 5 | 6 | 'bad' | 'ok' | 'warn';
}

interface ChartProps {
  /** Said to who cannot see it. */
  label: string;
  /** Beginnings of the steps in ms, ascending. */
  times: readonly number[];
  stepMs: number;
  series: readonly Series[];
  /** Bars and areas are stacked in the order of `series`, the first at the bottom. */
  kind: 'bars' | 'area' | 'lines';
  /** How a value is written, at the axis and under the pointer. */
  format?: (value: number) => string;
  height?: number;
  /** Dragging over a span shows it. */
  onZoom?: (fromMs: number, toMs: number) => void;
  /** A click on a step leads to what happened in it. */
  onPick?: (fromMs: number, toMs: number) => void;
}

/** Values over time. The legend shows what the whole range has, or the values under the pointer. */
export default function Chart(props: ChartProps) {
  const { label, times, stepMs, series, kind, format = short, height = 160 } = props;
  // What a click or a drag does may change without a new plot.
  const now = useRef(props);
  now.current = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const theme = useDrawnTheme();
  const data = useMemo(() => stacked(times, series, kind), [times, series, kind]);
  const shape = series.map(({ label, colour }) => `${label} ${colour}`).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: data alone makes no new plot; a theme or other series do.
  useEffect(() => {
    const element = box.current!;
    const onSpan = (fromMs: number, toMs: number) => now.current.onZoom?.(fromMs, toMs);
    const options = optionsOf(element, { series, kind, format, height, onPoint: setAt, stepMs, onSpan });
    const made = new uPlot(options, data, element);
    // Not by the cursor: a plot that was made below a resting pointer has none yet.
    made.over.addEventListener('click', ({ clientX }) => {
      const { times, onPick, stepMs } = now.current;
      const step = stepAt(made, kind, clientX - made.over.getBoundingClientRect().left) ?? -1;
      const fromMs = times[step];
      if (fromMs !== undefined) onPick?.(fromMs, times[step + 1] ?? fromMs + stepMs);
    });
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      setAt(null);
    };
  }, [theme, shape, kind, height, format, stepMs]);
  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <figure className="min-w-0">
      <Legend series={series} times={times} stepMs={stepMs} at={at} format={format} sums={kind !== 'lines'} />
      <div
        ref={box}
        role="img"
        aria-label={label}
        className={classes('min-w-0', props.onPick !== undefined && '[&_.u-over]:cursor-pointer')}
        style={{ height }}
      />
    </figure>
  );
}

interface LegendProps {
  series: readonly Series[];
  times: readonly number[];
  stepMs: number;
  at: number | null;
  format: (value: number) => string;
  sums: boolean;
}

function Legend({ series, times, stepMs, at, format, sums }: LegendProps) {
  const shown = ({ values, whole }: Series) => {
    if (at !== null) return values[at] == null ? '–' : format(values[at]);
    if (sums) return format(values.reduce<number>((sum, value) => sum + (value ?? 0), 0));
    return whole == null ? '–' : format(whole);
  };
  return (
    <figcaption className="mb-1 flex min-h-5 flex-wrap items-center gap-x-4 text-muted text-xs">
      {series.map((one) => (
        <span key={one.label} className="inline-flex max-w-full items-center gap-1.5 whitespace-nowrap">
          <span className="size-2 shrink-0 rounded-xs" style={{ background: colourOf(one.colour) }} aria-hidden />
          <span className="truncate" title={one.label}>
            {one.label}
          </span>{' '}
          <span className="text-ink">{shown(one)}</span>
        </span>
      ))}
      {at !== null && times[at] !== undefined && (
        <span className="ml-auto whitespace-nowrap">{timeLabel(times[at], stepMs)}</span>
      )}
    </figcaption>
  );
}

function colourOf(colour: Series['colour']): string {
  return `var(--${typeof colour === 'number' ? `series-${colour}` : colour})`;
}

const dayMs = 86_400_000;

/** Steps between labels of days, in seconds: half a day's would say the same day twice. */
const wholeDays = [1, 2, 3, 7, 14, 30, 90, 180, 365].map((days) => (days * dayMs) / 1_000);

/** Steps between labels of counts: there is no half of a request. */
const wholeNumbers = [1, 2, 5]
  .flatMap((first) => Array.from({ length: 13 }, (_, zeros) => first * 10 ** zeros))
  .sort((a, b) => a - b);

function timeLabel(atMs: number, stepMs: number): string {
  return stepMs >= dayMs ? day(atMs) : `${day(atMs)}, ${clock(atMs).slice(0, 5)}`;
}

/** Stacks are drawn from their sums, the highest first, so that each covers the part above it. */
function stacked(times: readonly number[], series: readonly Series[], kind: ChartProps['kind']): uPlot.AlignedData {
  const seconds = times.map((ms) => ms / 1_000);
  if (kind === 'lines') return [seconds, ...series.map(({ values }) => [...values])];
  const below = times.map(() => 0);
  const sums = series.map(({ values }) => below.map((sum, at) => (below[at] = sum + (values[at] ?? 0))));
  return [seconds, ...sums.reverse()];
}

interface Drawing {
  series: readonly Series[];
  kind: ChartProps['kind'];
  format: (value: number) => string;
  height: number;
  stepMs: number;
  onPoint: (at: number | null) => void;
  onSpan: (fromMs: number, toMs: number) => void;
}

/** A shorter drag is a click of an unsteady hand. */
const dragMinPx = 6;

function optionsOf(
  element: HTMLElement,
  { series, kind, format, height, stepMs, onPoint, onSpan }: Drawing,
): uPlot.Options {
  const resolved = (colour: string) => drawn(element, colour);
  const grid = { stroke: resolved('var(--line)'), width: 1 };
  const axis = { stroke: resolved('var(--muted)'), font: '11px system-ui', ticks: { show: false }, gap: 6 };
  const lines = (kind === 'lines' ? series : [...series].reverse()).map(({ label, colour }): uPlot.Series => {
    const stroke = resolved(colourOf(colour));
    if (kind === 'bars') {
      return {
        label,
        width: 0,
        fill: stroke,
        paths: uPlot.paths.bars!({ size: [0.72, 28], align: 1 }),
        points: { show: false },
      };
    }
    const fill = kind === 'area' ? resolved(`color-mix(in srgb, ${colourOf(colour)} 28%, var(--panel))`) : undefined;
    // A gap stays one. A value between two gaps has no line, so it is a point.
    const points = { show: true, size: 5, fill: stroke, filter: lonePoints };
    return { label, stroke, width: 1.5, ...(fill !== undefined && { fill }), points, spanGaps: false };
  });
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    // Half of the last label, which is centred below the last step.
    padding: [6, 20, 0, 0],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: dragMinPx },
      points: { show: kind === 'lines' },
    },
    scales: {
      x: { range: (_, low, high) => [low, high + (kind === 'bars' ? stepMs / 1_000 : 0)] },
      y: { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        values: timesOf(stepMs),
        ...(stepMs >= dayMs && { incrs: wholeDays }),
      },
      {
        ...axis,
        grid,
        // Small sums have long labels, such as $0.00015.
        size: (_, labels) => Math.max(52, ...(labels ?? []).map((label) => 12 + 7 * (label?.length ?? 0))),
        // A low chart has a label besides zero, too.
        space: Math.min(30, height / 4),
        values: (_, splits) => oncePerLabel(splits.map((value) => format(value))),
        ...(series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0))) && {
          incrs: wholeNumbers,
        }),
      },
    ],
    series: [{}, ...lines],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), shownZone()),
    hooks: {
      setCursor: [(plot) => onPoint(stepAt(plot, kind, plot.cursor.left ?? -1))],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < dragMinPx) return;
          const secondsAt = (px: number) => plot.posToVal(px, 'x');
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onSpan(...wholeSteps(secondsAt(left) * 1_000, secondsAt(left + width) * 1_000, plot.data[0], stepMs));
        },
      ],
    },
  };
}

/** Index of the step at `px` of the plot: of the bar that begins at or before it, or of the nearest point of a line. */
function stepAt(plot: uPlot, kind: ChartProps['kind'], px: number): number | null {
  const seconds = plot.data[0];
  if (px < 0 || seconds.length === 0) return null;
  const nearest = plot.posToIdx(px);
  return kind === 'bars' && seconds[nearest]! > plot.posToVal(px, 'x') ? Math.max(0, nearest - 1) : nearest;
}

/** From the step in which a drag began to the end of that in which it ended. */
function wholeSteps(fromMs: number, toMs: number, seconds: ArrayLike<number>, stepMs: number): [number, number] {
  const times = Array.from(seconds, (at) => at * 1_000);
  const first = times.findLast((at) => at <= fromMs) ?? times[0] ?? fromMs;
  const end = times.find((at) => at >= toMs) ?? (times.at(-1) ?? toMs) + stepMs;
  return [Math.round(first), Math.round(end)];
}

/** Places of values without a neighbour. */
const lonePoints: uPlot.Series.Points.Filter = (plot, series, shown) => {
  const values = plot.data[series] ?? [];
  const isAlone = (at: number) => values[at] != null && values[at - 1] == null && values[at + 1] == null;
  return shown ? [...values.keys()].filter(isAlone) : null;
};

function timesOf(stepMs: number): (plot: uPlot, splits: number[]) => string[] {
  return (plot, splits) =>
    splits.map((seconds) => {
      // Behind the last step there is no room for a label.
      if (seconds > (plot.data[0].at(-1) ?? 0)) return '';
      const atMs = seconds * 1_000;
      const midnight = clock(atMs).startsWith('00:00');
      return stepMs >= dayMs || midnight ? day(atMs).replace(/ \d{4}$/, '') : clock(atMs).slice(0, 5);
    });
}

/** Small figures are rounded in labels: of neighbours that read the same, the first is shown. */
function oncePerLabel(labels: readonly string[]): string[] {
  return labels.map((label, at) => (label === labels[at - 1] ? '' : label));
}

/** A canvas knows no custom properties. */
function drawn(element: HTMLElement, colour: string): string {
  const before = element.style.color;
  element.style.color = colour;
  const computed = getComputedStyle(element).color;
  element.style.color = before;
  return computed;
}
