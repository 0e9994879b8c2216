// Rollouts side by side: which steps stand in one row.

const most_cells = 4e6;

// The longest common subsequence of the rows' states and a rollout's steps: for each step
// its row, or -1.  A step without a state matches no row.
function matches(rows, steps) {
  const wide = steps.length + 1;
  if ((rows.length + 1) * wide > most_cells) return steps.map((_, i) => (i < rows.length ? i : -1));
  const same = (row, step) => step.s != null && row.states.has(step.s);
  const length = new Uint16Array((rows.length + 1) * wide);
  for (let i = rows.length - 1; i >= 0; i--)
    for (let j = steps.length - 1; j >= 0; j--)
      length[i * wide + j] = same(rows[i], steps[j])
        ? length[(i + 1) * wide + j + 1] + 1
        : Math.max(length[(i + 1) * wide + j], length[i * wide + j + 1]);
  const found = steps.map(() => -1);
  for (let i = 0, j = 0; i < rows.length && j < steps.length; ) {
    if (same(rows[i], steps[j])) found[j++] = i++;
    else if (length[(i + 1) * wide + j] >= length[i * wide + j + 1]) i++;
    else j++;
  }
  return found;
}

function put(row, r, step) {
  row.cells[r] = step;
  if (step.s != null) row.states.add(step.s);
  return row;
}

// Lays rollout r along the rows: steps that match stand in the row that they match, those
// between two matches beside each other from the top of the gap.
function lay(rows, steps, r) {
  const found = matches(rows, steps);
  const next = [];
  let row = 0;
  for (let step = 0; ; step++) {
    let end = step;
    while (end < steps.length && found[end] < 0) end++;
    const stop = end < steps.length ? found[end] : rows.length;
    while (row < stop || step < end) {
      const at = row < stop ? rows[row++] : { states: new Set(), cells: [] };
      next.push(step < end ? put(at, r, steps[step++]) : at);
    }
    if (end >= steps.length) return next;
    next.push(put(rows[row++], r, steps[end]));
  }
}

// rollouts: lists of steps with a state s.  Returns rows: a step or undefined per rollout.
export function align(rollouts) {
  let rows = [];
  rollouts.forEach((steps, r) => (rows = lay(rows, steps, r)));
  return rows.map((row) => row.cells);
}
