import { textOf } from './markdown.js';
import { medianOf, type Results } from './results.js';

interface Panel {
  readonly title: string;
  readonly group: string;
  readonly metric: string;
}

const PANELS: readonly Panel[] = [
  { title: 'Drain, jobs/s', group: 'drain', metric: 'rate' },
  { title: 'Enqueue one by one, 10 callers, jobs/s', group: 'enqueue', metric: 'rate' },
  { title: 'Latency, enqueue to start, p50 in ms (less is better)', group: 'latency', metric: 'p50' },
];

const WIDTH = 760;
const LABELS = 250;
const NUMBERS = 70;
const BAR = 16;
const ROW = 22;
const TITLE = 30;

// GitHub shows the picture on the page's own background, which may be light or dark.
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328; }
  .title { font-weight: 600; }
  .bar { fill: #8c959f; }
  .own { fill: #e0234e; }
  @media (prefers-color-scheme: dark) { text { fill: #f0f6fc; } .bar { fill: #656c76; } .own { fill: #ff5c7f; } }`;

/** The medians as bars. */
export function chartOf(results: Pick<Results, 'groups'>): string {
  let y = 0;
  const panels = PANELS.map((panel) => {
    const { text, height } = panelOf(results, panel, y);
    y += height;
    return text;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img">
<title>nestjs-pgqueue beside other queues</title>
<style>${STYLE}</style>
${panels.join('\n')}
</svg>
`;
}

function panelOf(results: Pick<Results, 'groups'>, { title, group, metric }: Panel, top: number) {
  const runs = results.groups.find(({ id }) => id === group)?.runs ?? [];
  const bars = runs
    .map(({ name, label }) => ({ name, label, value: medianOf(results, `${group}.${name}.${metric}`) }))
    .filter(({ value }) => !Number.isNaN(value));
  if (bars.length === 0) return { text: '', height: 0 };
  const longest = Math.max(...bars.map(({ value }) => value));
  const rows = bars.map((bar, index) => rowOf(bar, top + TITLE + index * ROW, longest));
  const text = [`<text class="title" x="0" y="${top + 20}">${title}</text>`, ...rows].join('\n');
  return { text, height: TITLE + bars.length * ROW + 10 };
}

function rowOf({ name, label, value }: { name: string; label: string; value: number }, y: number, longest: number) {
  const width = Math.max(1, (value / longest) * (WIDTH - LABELS - NUMBERS));
  const kind = name.startsWith('pgqueue') ? 'own' : 'bar';
  return `<text x="${LABELS - 8}" y="${y + 12}" text-anchor="end">${label}</text>
<rect class="${kind}" x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>
<text x="${(LABELS + width + 6).toFixed(1)}" y="${y + 12}">${textOf(value)}</text>`;
}
