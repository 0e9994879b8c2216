// A picture that pans and zooms.
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { useEffect, useRef } from "preact/hooks";

// A part of a picture that a keyboard reaches: Enter opens it, the space bar folds it.
export const button = (open, fold) => ({
  role: "button",
  tabindex: "0",
  onKeyDown: (event) => {
    if (event.key === "Enter") open();
    else if (event.key === " " && fold) fold();
    else return;
    event.preventDefault();
  },
});

export function Zoomed({ width, height, label, children }) {
  const picture = useRef();
  const inner = useRef();
  useEffect(() => {
    const svg = select(picture.current);
    // Whoever scrolls along a page passes a picture: the wheel is for one that was chosen.
    const may_begin = (event) => !event.button && (event.type !== "wheel" || event.ctrlKey || picture.current.contains(document.activeElement));
    const moves = zoom().scaleExtent([0.05, 8]).filter(may_begin).on("zoom", (event) => inner.current.setAttribute("transform", event.transform));
    const fit = () => {
      const box = picture.current.getBoundingClientRect();
      // Readable first: a picture larger than its place is panned rather than shrunk to nothing.
      const k = Math.max(0.7, Math.min(1.2, (box.width - 16) / width, (box.height - 16) / height));
      svg.call(moves.transform, zoomIdentity.translate(Math.max(8, (box.width - k * width) / 2), 8).scale(k));
    };
    svg.call(moves);
    fit();
    const pressed = (event) => {
      const move = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
      if (move) svg.call(moves.translateBy, ...move);
      else if (event.key === "+") svg.call(moves.scaleBy, 1.3);
      else if (event.key === "-") svg.call(moves.scaleBy, 1 / 1.3);
      else if (event.key === "0") fit();
      else return;
      event.preventDefault();
    };
    picture.current.addEventListener("keydown", pressed);
    return () => picture.current?.removeEventListener("keydown", pressed);
  }, [width, height]);
  return (
    <>
      <svg class="picture" ref={picture} tabindex="0" style={{ "--content": `${Math.ceil(height) + 32}px` }} role="group" aria-label={label}>
        <g ref={inner}>{children}</g>
      </svg>
      <p class="quiet">
        {label}. Drag or arrow keys pan, + and - or after a click the wheel zoom, 0 fits. Tab goes from box to box, Enter opens a step; a double click or the space bar folds a branch of the tree.
      </p>
    </>
  );
}
