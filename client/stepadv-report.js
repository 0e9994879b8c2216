/*<![CDATA[*/
/* The script of stepadv-report's pages: everything is there without it.  An index can be sorted and filtered; on a page of a group j and k go from step to step. */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
	const table = document.querySelector("table.groups");
	if (table) {
		sortable(table);
		filters(table);
	}
	document.querySelectorAll(".picture").forEach((picture) => {
		const show = () => to_its_beginning(picture);
		show();
		picture.closest("details")?.addEventListener("toggle", show);
	});
	steps();
	const talks = document.querySelector(".talks");
	if (talks)
		comparison(talks);
	const strips = document.querySelector(".strips");
	if (strips && document.querySelector("[data-state]"))
		alignment(strips);

	/* A number as the page writes it, else NaN. */
	function number(text) {
		const found = /^[+−]?[\d.]+(?:e[+−]?\d+)?/.exec(text.trim());
		return found ? Number(found[0].replaceAll("−", "-")) : NaN;
	}

	function sortable(table) {
		const body = table.tBodies[0];
		[...table.tHead.rows[0].cells].forEach((head, column) => {
			const button = document.createElement("button");
			button.type = "button";
			button.append(...head.childNodes);
			head.append(button);
			button.addEventListener("click", () => {
				const up = head.getAttribute("aria-sort") === "descending";
				for (const other of table.tHead.rows[0].cells)
					other.removeAttribute("aria-sort");
				head.setAttribute("aria-sort", up ? "ascending" : "descending");
				const value = (row) => {
					const cell = row.cells[column];
					const n = cell.dataset.n ? Number(cell.dataset.n) : number(cell.textContent);
					return Number.isNaN(n) ? cell.textContent.trim() : n;
				};
				const order = (a, b) => typeof a === typeof b ? (typeof a === "number" ? a - b : a.localeCompare(b)) : typeof a === "number" ? 1 : -1;
				body.append(...[...body.rows].map((row) => [value(row), row]).sort((a, b) => (up ? 1 : -1) * order(a[0], b[0])).map((pair) => pair[1]));
			});
		});
	}

	function filters(table) {
		const rows = [...table.tBodies[0].rows];
		const columns = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
		const form = document.createElement("form");
		form.className = "filters";
		const text = Object.assign(document.createElement("input"), { type: "search", placeholder: "text of group or task" });
		text.setAttribute("aria-label", "text of group or task");
		form.append(text);
		/* What a row has of a kind: the words of a column, or its tags. */
		const kinds = [["version", columns.indexOf("version")], ["outcomes", columns.indexOf("outcomes")], ["tag", 0]];
		const values = (row, name, column) => name === "tag" ? [...row.querySelectorAll(".tag")].map((tag) => tag.textContent) : [row.cells[column].textContent];
		const choices = kinds.filter(([name, column]) => column >= 0).flatMap(([name, column]) => {
			const all = [...new Set(rows.flatMap((row) => values(row, name, column)))].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
			if (all.length < 2 && name !== "outcomes")
				return [];
			const choice = document.createElement("select");
			choice.setAttribute("aria-label", name);
			choice.append(new Option("any " + name, ""), ...all.map((value) => new Option(value)));
			form.append(choice);
			return [[name, column, choice]];
		});
		const shown = document.createElement("output");
		form.append(shown);
		form.addEventListener("submit", (event) => event.preventDefault());
		form.addEventListener("input", () => {
			const wanted = text.value.toLowerCase();
			let n = 0;
			for (const row of rows) {
				row.hidden = !(row.cells[0].textContent.toLowerCase().includes(wanted) && choices.every(([name, column, choice]) => !choice.value || values(row, name, column).includes(choice.value)));
				n += row.hidden ? 0 : 1;
			}
			shown.textContent = n + " of " + rows.length;
		});
		table.parentElement.before(form);
	}

	/* Of two rollouts that are chosen only what comes from where they part; the last step before it stays. */
	function comparison(talks) {
		const all = [...talks.querySelectorAll(".talk")];
		const boxes = all.map((talk) => {
			const label = document.createElement("label");
			label.className = "choose";
			const box = Object.assign(document.createElement("input"), { type: "checkbox" });
			label.append(box, " compare");
			talk.querySelector("h4").append(label);
			return box;
		});
		const said = (step) => step.dataset.state + "|" + [...step.querySelectorAll(".did pre")].map((part) => part.textContent).join();
		talks.addEventListener("change", (event) => {
			const chosen = all.filter((talk, i) => boxes[i].checked);
			if (chosen.length > 2) {
				boxes[all.indexOf(chosen.find((talk) => !talk.contains(event.target)))].checked = false;
				chosen.splice(chosen.findIndex((talk) => !talk.contains(event.target)), 1);
			}
			const two = chosen.length === 2;
			talks.classList.toggle("apart", two);
			for (const talk of all) {
				talk.classList.toggle("chosen", chosen.includes(talk));
				for (const step of talk.querySelectorAll("article"))
					step.classList.remove("alike");
			}
			if (two) {
				const [a, b] = chosen.map((talk) => [...talk.querySelectorAll("article")]);
				let parted = 0;
				while (Math.min(a.length, b.length) > parted ? said(a[parted]) === said(b[parted]) : false)
					parted++;
				for (const steps of [a, b])
					steps.slice(0, Math.max(0, parted - 1)).forEach((step) => step.classList.add("alike"));
			}
		});
	}

	/* A picture that is higher than its frame begins where rollouts do, at the left. */
	function to_its_beginning(picture) {
		const nodes = [...picture.querySelectorAll(".node")].map((node) => node.getBoundingClientRect());
		if (!nodes.length || picture.scrollHeight <= picture.clientHeight)
			return;
		const first = nodes.reduce((a, b) => b.left < a.left ? b : a);
		picture.scrollTop += first.top - picture.getBoundingClientRect().top - picture.clientHeight / 2;
	}

	/* Strips by step, or so that a state that several rollouts came to stands in one column, as far as their order allows. */
	function alignment(strips) {
		const rows = [...strips.querySelectorAll(".rollout:not(.ruler) .strip")].map((strip) => [...strip.querySelectorAll("a.s")]);
		const state = (cell) => document.getElementById(cell.hash.slice(1))?.dataset.state;
		const most = (places) => Math.max(1, ...places.flat()) + 1;
		const by_step = rows.map((cells) => cells.map((cell, i) => i));
		const column = new Map();
		const by_state = rows.map((cells) => {
			let last = -1;
			return cells.map((cell) => {
				const known = column.get(state(cell));
				last = known > last ? known : last + 1;
				if (state(cell) && !column.has(state(cell)))
					column.set(state(cell), last);
				return last;
			});
		});
		const choice = document.createElement("div");
		choice.className = "align";
		const buttons = [["by step", by_step], ["by state", by_state]].map(([words, places]) => {
			const button = Object.assign(document.createElement("button"), { type: "button", textContent: words });
			button.setAttribute("aria-pressed", String(places === by_step));
			button.addEventListener("click", () => {
				buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
				strips.style.setProperty("--most", most(places));
				strips.classList.toggle("by-state", places === by_state);
				rows.forEach((cells, r) => cells.forEach((cell, i) => {
					const gap = places[r][i] - (i ? places[r][i - 1] : -1) - 1;
					cell.style.marginLeft = gap ? `calc(${gap} * min(26px, max(var(--least), 100% / var(--most))))` : "";
				}));
			});
			return button;
		});
		choice.append("columns:", ...buttons);
		strips.before(choice);
	}

	/* j: the next step, k: the one before. */
	function steps() {
		const all = [...document.querySelectorAll("[data-step]")];
		const cells = new Map([...document.querySelectorAll("a.s")].map((cell) => [cell.hash, cell]));
		const mark = () => {
			document.querySelector("a.s.here")?.classList.remove("here");
			cells.get(location.hash)?.classList.add("here");
		};
		addEventListener("hashchange", mark);
		mark();
		document.addEventListener("keydown", (event) => {
			if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || !all.length || (event.key !== "j" && event.key !== "k"))
				return;
			const at = all.findIndex((step) => "#" + step.id === location.hash);
			const next = all[Math.max(0, Math.min(all.length - 1, at + (event.key === "j" ? 1 : -1)))];
			location.hash = next.id;
		});
	}
});
/*]]>*/
