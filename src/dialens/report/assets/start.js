"use strict";
startTables();
startTalks();
startFigures();
