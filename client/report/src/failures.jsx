// Why failed rollouts fail, and where two versions part.
import { brief, count, in_characters, percent, plural, short_labels } from "./words.js";

export function Failures({ index }) {
  const versions = index.versions.map((v) => v.name);
  return (
    <>
      <h1>Why failed rollouts fail</h1>
      {index.failures.length === 0 && <p>No rollout failed, or none is judged.</p>}
      {index.failures.map((cluster) => (
        <section class="cluster">
          <h2>{cluster.title}</h2>
          <p>
            {plural(cluster.rollouts, "failed rollout")}
            {versions.length > 1 && `: ${versions.map((v) => `${v} ${count(cluster.versions[v])}`).join(", ")}`}.{" "}
            {cluster.words.length > 0 && `Telling words: ${cluster.words.join(", ")}.`}
          </p>
          <ul>
            {cluster.examples.map((e) => (
              <li>
                {e.page ? <a href={`#group/${e.group}?rollout=${e.rollout}&step=${e.step}`}>{e.name}</a> : e.name}: {e.text}
              </li>
            ))}
          </ul>
        </section>
      ))}
      {index.differences.length > 0 && (
        <section>
          <h2>States that two versions leave differently</h2>
          <p>
            {plural(index.states.compared, "state")} of a task {index.states.compared === 1 ? "was" : "were"} seen by two versions at least 3
            times each, in 2 rollouts or more. In {count(index.states.apart)} of them at least half of what they do is different.
          </p>
          <table>
            <thead>
              <tr>
                <th>seen</th>
                <th>version</th>
                <th>mostly does</th>
                <th class="n">visits</th>
                <th class="n">solved</th>
              </tr>
            </thead>
            <tbody>
              {index.differences.flatMap((d) =>
                d.versions.map((v, i) => (
                  <tr>
                    {i === 0 && (
                      <td rowspan={d.versions.length} title={d.observed}>
                        {brief(d.observed, 90) || "(nothing)"} <small>{d.task}</small>
                      </td>
                    )}
                    <td>{v.name}</td>
                    <td title={v.action}>
                      {short_labels(d.versions.map((of) => of.action), in_characters(70))[i]} <small>{percent(v.share)}</small>
                    </td>
                    <td class="n">{v.visits}</td>
                    <td class="n">{percent(v.solved)}</td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}
